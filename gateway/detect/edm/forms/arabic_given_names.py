"""Arabic given names. Next to one, a surname needs only the consonants of a listed one.

They do not act as cues, because many are words too: they count only if the list has a person of that name.

    is_arabic_given("زهير"), is_arabic_given("zouheir"), is_arabic_given("haneen")     # True, True, True
"""

from __future__ import annotations

from ...names.given_names import names_of
from .romanization import romanised
from .spelling import ONE_ARABIC_FORM, is_arabic
from .stems import stems

ARABIC_GIVENS = names_of("ar-latin") | frozenset(
    """
    abdulla abdallah bandar bandari basma dalal dalia duaa eman farida faris firas ghada ghadah ghassan ghazi
    habib haifa hayfa hamad hatem hessa hisham hoda iman imad isra issa jaber jamila jameela jasim jassim
    jawaher kamal khalifa khalil lateefa latifa loay maha majed majeed mansoor marwan marwa maysa mazen mohsen
    mohsin moosa musa nabil nada nadir naif najwa najla nawaf nawal nayef nizar nouf nour noura nourah omran
    osama qasim qais raed rana randa raniya rawan rayan reema riyadh rula saad saeed safa safiya sahar said saif
    sami sana sawsan shaima shaikha sheikha shatha sobhi suad suhail sumaya taha talal tamer thamer turki wafa
    wael wajdi yahya yara yaser yasser younes younis zaid zayed zahra zakaria zakariya aicha ayesha djamila
    djamel farouk kheira mourad rachid samia soraya youcef yacine zineb khadeeja salma selma hanane latifa nesrine
    """.split()  # noqa: SIM905 - a table is read more easily than a list of quoted words
)
"""In Latin letters. Those of `given_names.txt` act as cues as well; these may be names of other languages too."""
_SCRIPT = frozenset(
    """
    رفيق منذر شكري مختار زهير وسام عبدالكريم عبدالقادر عبدالرحيم عبدالوهاب عبدالحميد عبدالرزاق عبدالسلام عبداللطيف
    عبدالناصر عبدالحكيم عبدالفتاح عبدالغني عبدالباسط عبدالمنعم عبدالحق عبدالمالك عبدالرؤوف عبدالستار عبدالجبار
    عبدالواحد عبدالهادي صبري صلاح صادق صابر ضياء طاهر ظافر عاصم عامر عبيد عدنان عزام عزت عزيز علاء عمار عمران عوض
    غانم غسان غيث فائز فارق فاروق فتحي فراس فريد فواز فوزي قصي قيس كامل كنان لطفي ماهر مالك محسن مدحت مراد مرتضى
    مسعود مشاري مصعب مطلق معاوية معتز معن مقداد ممدوح منير مهدي مؤيد ميثم ناجي نادر ناظم نافع نجيب نسيم نعيم نواف
    نوح هاشم همام هلال وجدي وحيد وضاح وهيب يزن يزيد يعقوب يونس أدهم أكرم أمجد أمين أنور أوس إدريس إلياس إسحاق أشرف
    أسعد أيهم باهر براء برهان بشار بشير بهاء تامر تميم تيسير ثابت جاد جلال جميل جهاد جواد حارث حافظ حامد حسام حسان
    حمدي حيدر خضر خلف خليفة خميس درويش ذياب راغب رأفت رامز رجب رشدي رشاد رشيد رضوان رمزي رمضان رؤوف رياض ريان زاهر
    زين سالم ساهر سراج سفيان سليم سميح سند سنان سهيل سيف شادي شاكر شاهر شعبان شهاب بثينة هالة ابتسام منال جمانة
    رجاء زهرة نوال أحلام أروى أريج أسيل أفنان أماني أمل أميرة إلهام اعتدال بتول بدور بسمة بلقيس بيان تغريد تهاني
    ثريا جنى جيهان حسناء حنان حنين حياة خلود دانا دانة ديما ذكرى رؤى راوية رباب رحمة رزان رغدة رفيدة رنا رند رهف
    روان ريما ريهام زكية زهراء زهور سامية سحر سعدية سلوى سماح سميحة سهام سهى سهير شادية شذى شروق شهد شيرين صابرين
    صباح ضحى عائدة عفاف علياء عواطف غدير غزل فاتن فايزة فداء فرح فريدة فضيلة فيروز كوثر لانا لجين لمياء ليان لين
    ماجدة مرام مشاعل ملاك منيرة مي ميادة ميساء ميسون نادين نازك ناهد نبيلة نجاة نجوى نعيمة نهى نوف هاجر هبة هديل هيا
    هيام وجدان وداد وسن ولاء يسرى يمنى عزيزة مليكة فتيحة حورية سكينة
    """.translate(ONE_ARABIC_FORM).split()
) | {name.translate(ONE_ARABIC_FORM) for name in names_of("ar")}
_LATIN = """
    rafiq munther munzer shukri mukhtar zuhair wisam wesam abdulkarim abdulqadir abdulrahim abdulwahab abdulhamid
    abdulrazzaq abdulsalam abdullatif abdulnasser abdulhakim abdulfattah abdulghani sabri salah sadiq saber diaa
    taher dhafer asim amer obaid adnan azzam ezzat aziz alaa ammar awad ghanem ghassan ghaith faez farouq fathi
    feras farid fawaz fawzi qusai qais kamel kinan lutfi maher malek medhat murad murtada masoud mishari musab
    mutlaq muawiya mutaz miqdad mamdouh munir mahdi muayad maytham naji nader nazem najib nasim naeem nawaf hashem
    hammam hilal wajdi wahid waddah wahib yazan yazid yaqoub adham akram amjad amin anwar idris ilyas ishaq ashraf
    asaad ayham baher baraa burhan bashar bashir bahaa tamim taysir thabet jalal jamil jihad jawad hareth hafez
    hamed hossam hassan hamdi haider khader khalaf khamis darwish dhiab ragheb raafat ramez rajab rushdi rashad
    rashid ridwan ramzi ramadan raouf riyad rayan zaher zahi salem saher siraj sufyan salim samih sinan suhail shadi
    shaker shaher shaaban shihab sharif buthaina hala ibtisam manal jumana rajaa nawal ahlam arwa areej aseel afnan
    amani amal amira ilham batoul budoor basma balqis bayan taghreed tahani thuraya jihan hasna hanan haneen hayat
    khulood dima thikra rawya rabab rahma razan rahaf riham zakia zuhoor sahar saadia samah samiha siham suha suhair
    shadia shatha shorouq shahd shirin sabreen duha aida afaf alia awatef ghadeer ghazal faten faiza fidaa farah
    farida fadila fairouz kawthar lujain lamia layan maram mashael malak munira mayada maysoon nazik nahed nabila
    najat naima nuha hajar hiba hadeel haya hiyam widad wasan sumayya ghada jaafar rahim karam walaa yusra yumna
    aziza malika fatiha houria sukaina muath moaz muadh nabil hazim hazem basim wafa najla jafar
    fuad fouad foad badr bader brahim haroun doaa abbas aymen ayoub bassam bassel daoud essam ezzedine fadel fahad fahd
    faraj ghaleb hamza houssam hussam ihab ilyes issam lotfi lubna maysara moncef mounir muhannad mustapha nasser nawfal
    nidal othmane rabih rachida rashida redouane riad safwan samer sherif slimane soufiane souad suleiman tahar talib
    wassim zubair khawla chaima hafsa naima hicham abderrahim abdelkader noureddine salaheddine azzedine khaled
"""
_ROMANISED = frozenset(spelling for name in (*_LATIN.split(), *ARABIC_GIVENS) for spelling in romanised(name))


_PLAIN = ARABIC_GIVENS | frozenset(_LATIN.split())
_FEWEST_LETTERS = 5  # of a spelling that no list has; shorter ones are names of other languages too


def is_arabic_origin(word: str) -> bool:
    """Return whether a lower-case Latin given name identifies a whole name as Arabic."""
    if word in _PLAIN:
        return True
    return len(word) >= _FEWEST_LETTERS and "e" not in word and not _ROMANISED.isdisjoint(romanised(word))


def is_arabic_given(word: str) -> bool:
    """Return whether a lower-case word is such a given name in either script; in Arabic also with a prefix."""
    if is_arabic(word):
        return not _SCRIPT.isdisjoint(stem.translate(ONE_ARABIC_FORM) for stem in stems(word))
    return not _ROMANISED.isdisjoint(romanised(word))
